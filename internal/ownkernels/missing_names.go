package ownkernels

import (
	"cmp"
	"regexp"

	"triad/internal/advice"
	"triad/internal/backend"
	"triad/internal/op"
)

// usesMissing matches what a call raises that uses a name whose line failed when the file was imported
// (pybridge/own_lines.py), or that imports a package which is not here.
var usesMissing = regexp.MustCompile(`^(?:InterpreterError: )?(?:Missing(?:: |\(['"])triad: |` +
	`(ModuleNotFoundError: No module named))`)

// ofMain matches the message about a name that the block of "__main__" gives more than one value.
var ofMain = regexp.MustCompile(`^\S.*?:\d+: (\w+ is given a value only where its main block runs` +
	`[^'"\n]*)`)

// missesNames says of a call that uses such a name what is missing here. That is neutral: a line that is
// wrong ends the import.
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
	if status, sentence, ok := advice.BuildLimit(why, "", !f.reading.Workers.GPU); ok {
		outcome.Status, outcome.Sentence = status, cmp.Or(nearModule(f.Path, sentence), sentence)
	}
}
