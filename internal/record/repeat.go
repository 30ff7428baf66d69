package record

import (
	"fmt"
	"slices"
	"strings"
)

// FolderWord begins the word of Session.Added that names the folder of an operator of the user's own.
const FolderWord = "--folder="

// Repeat returns the command that runs a record again on bit-identical inputs: inputs depend on case and seed
// alone, and every part of the case is named. `--full` prevents a level from thinning out what is named.
func Repeat(r Record, added []string) string {
	c := r.Case
	operator := c.Op
	added = slices.DeleteFunc(slices.Clone(added), func(word string) bool {
		// an operator of one's own is named by its folder
		folder, is := strings.CutPrefix(word, FolderWord)
		if is {
			operator = folder
		}
		return is
	})
	added, impl := onlyFile(r.Impl, added)
	words := []string{"triad", "compare", operator, "--full", "--pass", c.Pass.String(), "--dtype", c.DType}
	if len(c.Dims) > 0 {
		var parts []string
		for _, d := range c.Dims {
			parts = append(parts, fmt.Sprintf("%s=%d", d.Name, d.Value))
		}
		words = append(words, "--dims", strings.Join(parts, ","))
	}
	for _, a := range c.Attrs {
		words = append(words, "--attr", a.Name+"="+a.Text)
	}
	words = append(words, "--layout", c.Layout, "--distribution", c.Distribution)
	if c.Upstream != "" {
		words = append(words, "--upstream", c.Upstream)
	}
	if c.Saved != "" {
		words = append(words, "--saved", c.Saved)
	}
	words = append(words, "--impl", impl, "--seed", fmt.Sprint(r.Seed))
	switch r.Device {
	case "gpu":
		words = append(words, "--device", "gpu")
	case "emulator", "interpreter", "cpu":
		words = append(words, "--device", "cpu")
	}
	for _, file := range added {
		if !strings.HasPrefix(file, "--") { // other words about the files stay as typed
			words = append(words, "--add")
		}
		words = append(words, file)
	}
	for i, w := range words {
		words[i] = ShellQuote(w)
	}
	return strings.Join(words, " ")
}

// ShellQuote quotes a word for a POSIX shell if necessary. A # that begins a word begins a comment.
func ShellQuote(word string) string {
	special := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("_-+=./,:@%#", r))
	}
	if word != "" && word[0] != '#' && !strings.ContainsFunc(word, special) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// CommandLine returns the words of a command as a shell takes them.
func CommandLine(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = ShellQuote(word)
	}
	return strings.Join(quoted, " ")
}

// FileWord is the prefix of a word of a session that judged many files separately: the name of an
// implementation, "=", and its file.
const FileWord = "file:"

// onlyFile keeps, of the words of many files, only that of an implementation, and returns the name that it
// has when its file is added alone.
func onlyFile(impl string, added []string) (words []string, alone string) {
	alone = impl
	for _, word := range added {
		of, is := strings.CutPrefix(word, FileWord)
		if !is {
			words = append(words, word)
			continue
		}
		name, path, _ := strings.Cut(of, "=")
		if function, one := strings.CutPrefix(impl, name+":"); impl == name || one {
			if one {
				at := len(path)
				if pass := strings.LastIndexByte(path, '@'); pass > strings.LastIndexByte(path, '/') {
					at = pass
				}
				path = path[:at] + ":" + function + path[at:]
			}
			words, alone = append(words, path), "mine"
		}
	}
	return words, alone
}
