package kernelfile

import (
	"regexp"
	"slices"
	"strings"
)

// commentsSay says whether a comment of the file names the value of an attribute that a reading changes, in
// one of the words that the operator knows for it: "C = A * B^T".
func (b *Binding) commentsSay(other Alternative) bool {
	words := b.Spec.Own.Comments[other.Attribute][other.Options.Attrs[other.Attribute]]
	if words == "" || b.file == nil {
		return false
	}
	var all []string
	for _, word := range strings.Fields(words) {
		all = append(all, regexp.QuoteMeta(word))
	}
	named := regexp.MustCompile(`(?i)(?:^|[^\w.])(?:` + strings.Join(all, "|") + `)(?:$|[^\w])`)
	return slices.ContainsFunc(b.file.comments, named.MatchString)
}
