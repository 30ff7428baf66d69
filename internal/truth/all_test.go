package truth_test

import _ "triad/internal/truth/all" // the tests of this folder are of every operator
