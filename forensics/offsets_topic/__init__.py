"""The replicas of `__consumer_offsets`: what each broker failure would break, and how to distribute them."""
