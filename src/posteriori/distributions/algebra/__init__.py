"""The algebra of random variables: sums, products, maps and expectations."""
