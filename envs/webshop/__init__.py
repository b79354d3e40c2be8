"""WebShop: products to be found, chosen and bought on the pages of a shop."""
