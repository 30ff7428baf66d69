package kernelfile

import (
	"regexp"
	"slices"
	"strings"
)

// commentsSay reports whether a comment of the file names the attribute value that an interpretation changes
// to, in one of the operator's words for it: "C = A * B^T".
func (b *Binding) commentsSay(other Alternative) bool {
	words := b.Spec.Own.Comments[other.Attribute][other.Options.Attrs[other.Attribute]]
	if words == "" || b.file == nil {
		return false
	}
	all := eachOf(strings.Fields(words), regexp.QuoteMeta)
	named := regexp.MustCompile(`(?i)(?:^|[^\w.])(?:` + strings.Join(all, "|") + `)(?:$|[^\w])`)
	return slices.ContainsFunc(b.file.Comments, named.MatchString)
}
