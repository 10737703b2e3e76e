"""Orders in which nodes are eliminated, and the trees of cliques that they make."""
