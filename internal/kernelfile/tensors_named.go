package kernelfile

// TensorsNamed counts the tensors whose parameter has the spec's name or one without another meaning.
func (b *Binding) TensorsNamed() int {
	count := 0
	for _, a := range b.Args {
		if (a.Role == Input || a.Role == Output) && score(b.Spec, b.Pass, a.Name, a.Target) > scoreWeak {
			count++
		}
	}
	return count
}

// Words splits a name into its words, in small letters: vectorAdd2 has vector, add and 2.
func Words(name string) []string {
	var words []string
	begin := 0
	text := snake(name)
	kind := func(c byte) int {
		switch {
		case c >= '0' && c <= '9':
			return 1
		case c >= 'a' && c <= 'z':
			return 2
		}
		return 0
	}
	for i := 0; i <= len(text); i++ {
		if i < len(text) && (i == begin || kind(text[i]) == kind(text[i-1])) {
			continue
		}
		if word := text[begin:i]; word != "" && kind(word[0]) > 0 {
			words = append(words, word)
		}
		begin = i
	}
	return words
}
