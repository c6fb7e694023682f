"""The replicas of `__consumer_offsets`: what dies with a broker, and how they should lie."""
