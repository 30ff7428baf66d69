package triad_test

// factsOfFiles are the packages that find facts in users' files, and what names and launches fit.
var factsOfFiles = []string{
	"internal/ownfile/cfacts", "internal/ownfile/indexing", "internal/ownfile/launchfit",
	"internal/ownfile/layout", "internal/ownfile/match",
}

// stepsOfFiles are the packages that make a binding of these facts.
var stepsOfFiles = []string{
	"internal/ownfile", "internal/ownfile/adapters", "internal/ownfile/binding",
	"internal/ownfile/declared", "internal/ownfile/extents", "internal/ownfile/launches",
	"internal/ownfile/params", "internal/ownfile/shim",
}

// rulesOfFiles are the import rules of the packages that read users' files.
var rulesOfFiles = []rule{
	{
		packages: stepsOfFiles,
		never: []string{
			"triad/cuda/...", "triad/pybridge", "triad/internal/backend", "triad/internal/worker",
			"triad/internal/catalog",
			"triad/internal/judge",
		},
		reason: "a file is read and matched to the spec that is given: text goes in, text comes out",
	},
	{
		packages: []string{
			"internal/ownfile/binding", "internal/ownfile/extents", "internal/ownfile/launches",
		},
		never: []string{
			"triad/internal/ownfile/adapters", "triad/internal/ownfile/params", "triad/internal/ownfile/shim",
			"triad/internal/ownfile/declared", "triad/internal/ownfile",
		},
		reason: "a step of reading a file knows the steps before it",
	},
	{
		packages: []string{"internal/ownfile/adapters", "internal/ownfile/params", "internal/ownfile/shim"},
		never:    []string{"triad/internal/ownfile/declared", "triad/internal/ownfile"},
		reason:   "a step of reading a file knows the steps before it",
	},
	{
		packages: []string{"internal/ownfile/pyfacts", "internal/ownfile/observed"},
		never:    []string{"triad/..."},
		reason:   "facts are plain data, which every reader of a file may have",
	},
	{
		packages: []string{"internal/ownfile/cfacts"},
		never: []string{
			"triad/cuda/...", "triad/pybridge/...", "triad/internal/ownfile/binding",
			"triad/internal/worker", "triad/internal/backend", "triad/internal/catalog",
			"triad/internal/judge",
		},
		reason: "facts are what the text says; what they mean for an operator is decided elsewhere",
	},
	{
		packages: []string{"internal/ownfile/cfacts", "internal/ownfile/layout"},
		never:    []string{"triad/internal/ownfile/match", "triad/internal/ownfile/launchfit"},
		reason:   "they know no names of operators",
	},
	{
		packages: []string{
			"internal/ownfile/indexing", "internal/ownfile/launchfit", "internal/ownfile/match",
		},
		never: []string{
			"triad/cuda/...", "triad/pybridge/...", "triad/internal/ownfile/binding",
			"triad/internal/worker", "triad/internal/backend", "triad/internal/catalog",
			"triad/internal/judge",
		},
		reason: "they work on facts: text goes in, and the binding is made elsewhere",
	},
	{
		packages: []string{"internal/ownfile/pyparser"},
		never: []string{
			"triad/cuda/...", "triad/pybridge/...", "triad/internal/ownfile/binding", "triad/internal/worker",
			"triad/internal/judge",
		},
		reason: "a file is parsed; what its facts mean for an operator is decided elsewhere",
	},
	{
		packages: []string{"internal/ownfile/trial"},
		never: []string{
			"triad/internal/run", "triad/internal/session", "triad/results", "triad/pybridge",
			"triad/internal/judge", "triad/internal/truth/...",
		},
		reason: "a trial gets verdicts through a port, and starts no run by itself",
	},
	{
		packages: []string{"internal/ownfile/observe"},
		never: []string{
			"triad/pybridge/...", "triad/internal/ownfile/binding", "triad/internal/judge",
			"triad/internal/truth/...",
		},
		reason: "a program runs; what it shows of an operator is decided elsewhere",
	},
}
