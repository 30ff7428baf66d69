import not_a_package_of_anybody  # noqa: F401  (as where an extension was not built)
