package report

import "io"

// Counted writes the counts of a kernel and of the variants it is compared with, below the case they are of.
func Counted(w io.Writer, style Style, header []string, rows [][]string, of string) error {
	names := make([]string, len(header))
	for i, name := range header {
		if names[i] = name; i > 0 {
			names[i] = ">" + name
		}
	}
	if err := write(w, "\nCounted by the emulator, "+of+" (times are published ones of a "+
		"GPU):\n\n"); err != nil {
		return err
	}
	return style.Table(w, "  ", columns(names...), rows)
}
