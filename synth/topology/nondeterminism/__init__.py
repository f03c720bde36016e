"""What answers say differently each time without saying anything else: masked, and learned."""
