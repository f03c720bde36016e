"""Statistics of counts, ranks and scores: numbers in, numbers out."""
