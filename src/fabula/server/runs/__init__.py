"""Long work as processes of their own, and the numbered events by which others follow it."""
