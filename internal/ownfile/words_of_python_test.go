package ownfile

import (
	"testing"

	"triad/internal/ownfile/binding"
)

// Names of tiles are read as words.
func TestNamesReadAsWords(t *testing.T) {
	for name, want := range map[string]bool{
		"BLOCK_M": true, "TILE": true, "X_SIZE": true, "size": false,
		"N": false,
	} {
		if got := binding.NamesTile(name); got != want {
			t.Errorf("%q is a tile: %v, want %v", name, got, want)
		}
	}
}
