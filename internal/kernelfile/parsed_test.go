package kernelfile

import "triad/internal/ownfile/pyparser"

// parsed returns the facts of a Python text.
var parsed = pyparser.New(pyparser.OfPATH)
