"""The language-model seam: `base` is the line, everything else is behind it."""
