package kernelfile

import "strings"

// nest puts values of a tuple's elements that are tuples themselves between brackets.
func (fn Function) nest(values []string) (all []string) {
	for _, n := range fn.said.Nested {
		switch {
		case len(values) == 0:
		case n == 0:
			all, values = append(all, values[0]), values[1:]
		default:
			n = min(n, len(values))
			all, values = append(all, "("+strings.Join(values[:n], ", ")+",)"), values[n:]
		}
	}
	return append(all, values...)
}
