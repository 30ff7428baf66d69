package kernelfile

import "triad/internal/ownfile/pyparser"

// parsed are the facts of a text of Python.
var parsed = pyparser.New(pyparser.OfPATH)
