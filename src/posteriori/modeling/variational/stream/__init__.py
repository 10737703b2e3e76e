"""Beliefs about rows found part by part."""
