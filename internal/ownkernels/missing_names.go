package ownkernels

import (
	"regexp"

	"triad/internal/advice"
	"triad/internal/backend"
	"triad/internal/op"
)

// usesMissing matches exceptions of calls that use a name whose line failed when the file was imported
// (pybridge/user_files/own_lines.py), or that import a package which is not installed.
var usesMissing = regexp.MustCompile(`^(?:InterpreterError: )?(?:Missing(?:: |\(['"])triad: |` +
	`(ModuleNotFoundError: No module named))`)

// ofMain matches the message about a name that the block of "__main__" gives more than one value.
var ofMain = regexp.MustCompile(`^\S.*?:\d+: (\w+ is given a value only where its main block runs` +
	`[^'"\n]*)`)

// missesNames reports what is missing here for a call that uses such a name. That is neutral: a wrong line
// would end the import.
func (f *File) missesNames(outcome *backend.Outcome) {
	at := usesMissing.FindStringSubmatchIndex(outcome.Sentence)
	if outcome.Status != op.StatusCrash || !f.IsPython() || at == nil {
		return
	}
	why := outcome.Sentence[at[1]:]
	if at[2] >= 0 {
		why = outcome.Sentence[at[2]:]
	}
	if m := ofMain.FindStringSubmatch(why); m != nil {
		outcome.Status, outcome.Sentence = op.StatusUnavailable, m[1]
		return
	}
	outcome.Status, outcome.Sentence = op.StatusUnavailable, "it uses what a line of the file makes, which "+
		"works with other versions or where a GPU is, and not here ("+why+"): leave the line out, or "+
		"install the versions that it was written for; triad doctor names those here"
	if status, sentence, ok := advice.BuildLimit(why, "", !f.interpretation.Workers.GPU); ok {
		outcome.Status, outcome.Sentence = status, sentence
	}
}
