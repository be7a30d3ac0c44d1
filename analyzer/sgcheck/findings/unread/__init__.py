"""Whether anything reads a field in one launch: readers, what guards them, and who reaches them."""
