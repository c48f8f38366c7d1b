"""One model that revises its own story until what it may take is used; ours."""
