"""What a task asks for, in words that give nothing away."""
