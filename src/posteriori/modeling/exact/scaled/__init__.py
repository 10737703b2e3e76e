"""Normal variables with one unknown common precision."""
