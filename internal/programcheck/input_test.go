package programcheck

import (
	"bytes"
	"os"
	"testing"
	"time"

	"triad/internal/console"
	"triad/internal/machine"
)

// TestCheckOpenInput: a pipe that stays open does not hold check up: the program gets what has arrived.
func TestCheckOpenInput(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	defer read.Close()
	a := &checker{machine.New(console.New(read, &bytes.Buffer{}, &bytes.Buffer{}))}
	if _, err := write.WriteString("7\n"); err != nil {
		t.Fatal(err)
	}
	got := make(chan []byte, 1)
	go func() { got <- a.inputOfProgram() }()
	select {
	case text := <-got:
		if string(text) != "7\n" {
			t.Errorf("%q, want what has arrived", text)
		}
	case <-time.After(time.Minute):
		t.Fatal("it still waits for the end of standard input")
	}
}
