"""Networks in files: BIF, XMLBIF and UAI, read and written by suffix."""
