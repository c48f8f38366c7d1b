"""What evaluators take and give: items, ratings, reports."""
