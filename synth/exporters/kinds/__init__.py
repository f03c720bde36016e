"""What becomes a row, by kind of data set; what may be written of it."""
