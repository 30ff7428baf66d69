package smallestcase

import (
	"strings"

	"triad/internal/firstlook"
	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownkernels"
	"triad/internal/record"
	"triad/internal/shrink"
)

// addCauses adds to a diagnosis the causes in half a line each, with the line that writes the result where
// none is known, and the source around them.
func addCauses(d *record.Diagnosis, f shrink.Finding, file *ownkernels.File) {
	brief := f.Brief()
	usual := firstlook.Usual{
		Cause: record.Cause{Line: brief.Line, Text: brief.Text}, Exact: brief.Exact,
	}
	d.Causes = firstlook.CausesOf(*d, file.Path, usual)
	_, function, several := strings.Cut(f.Record.Impl, ":") // the file has several functions
	for i := range d.Causes {
		if several {
			d.Causes[i].Text = function + ": " + d.Causes[i].Text
		}
		if d.Causes[i].Line > 0 {
			continue
		}
		var outputs []string
		for _, b := range file.Bindings {
			for _, arg := range b.Args {
				if arg.Role == binding.Output && b.Pass == f.Record.Case.Pass {
					outputs = append(outputs, arg.Name)
				}
			}
		}
		d.Causes[i].Line = firstlook.WrittenAt(file.Text(), file.IsPython(),
			f.Record.Case.Pass == op.Backward, function, outputs)
	}
	d.Source = record.ExcerptOf(file.Path, file.Text(), d.Causes)
}
