"""FEVER: claims to be verified on the pages of a wiki."""
