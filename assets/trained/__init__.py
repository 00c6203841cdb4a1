"""What small models taught: proxies trained on mixtures, one module a set of them."""
