"""Climbing an objective by steps that never lower it, with jumps where steps become short."""
