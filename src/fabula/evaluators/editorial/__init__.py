"""Editorial annotations of MAGNET's evaluation: comments of an editor on three levels, each with a quotation."""
