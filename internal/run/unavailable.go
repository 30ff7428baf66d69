package run

import (
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/record"
)

// Unavailable returns the sentences about what was asked for by name and is missing, each once: those of the
// rows that a prefix matches, where an operator has no other rows for it. Of a row only the operator, Impl,
// Status and Message count; a whole family that is missing is a row of its name.
func Unavailable(prefixes []string, rows []record.Record) (sentences []string) {
	if len(prefixes) == 0 {
		return nil
	}
	var operators []string
	of, names := map[string][]record.Record{}, map[string][]string{}
	for _, r := range rows {
		if _, known := of[r.Case.Op]; !known {
			operators = append(operators, r.Case.Op)
		}
		of[r.Case.Op], names[r.Case.Op] = append(of[r.Case.Op], r), append(names[r.Case.Op], r.Impl)
	}
	for _, operator := range operators {
		for _, prefix := range prefixes {
			for _, sentence := range absent(prefix, of[operator], names[operator]) {
				if !slices.Contains(sentences, sentence) {
					sentences = append(sentences, sentence)
				}
			}
		}
	}
	return sentences
}

// absent returns the sentences of the rows of an operator that a prefix matches; nil if one of them is there.
func absent(prefix string, rows []record.Record, names []string) (sentences []string) {
	family, _, _ := strings.Cut(prefix, "/")
	for _, r := range rows {
		switch {
		case r.Impl != family && !matches(r.Impl, []string{prefix}, names):
		case r.Status == op.StatusUnavailable:
			sentence := r.Message
			if r.Impl != family && !strings.HasPrefix(sentence, r.Impl) { // it is about one of several
				sentence = r.Impl + ": " + sentence
			}
			sentences = append(sentences, sentence)
		default:
			return nil
		}
	}
	return sentences
}

// rowsOf lists what backends have for an operator, for Unavailable: the status is unknown of what runs.
func rowsOf(all []loaded, operator string) (rows []record.Record) {
	add := func(name string, status op.Status, message string) {
		rows = append(rows, record.Record{
			Case: op.Case{Op: operator}, Impl: name, Status: status, Message: message,
		})
	}
	for _, l := range all {
		for _, family := range l.backend.Families() {
			if gone := l.ruling(family); gone != nil {
				add(family, gone.status, gone.sentence)
			}
		}
		for _, f := range l.failed {
			if strings.Contains(f.Implementation, "/") {
				add(f.Implementation, f.Status, f.Message)
			}
		}
		for _, name := range l.names() {
			add(name, op.StatusUnknown, "")
		}
	}
	return rows
}
