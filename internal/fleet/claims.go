package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// Claim takes a case of the plan, by its key, for a shard, where shards are not cut beforehand: whoever is
// free takes the next one. It is true for the shard that was first, also when it asks again.
func (f Folder) Claim(shard int, key string) (bool, error) {
	sum := sha256.Sum256([]byte(key))
	path := f.in("claims/%s", hex.EncodeToString(sum[:16]))
	// A link is made whole or not at all: a claim names its shard from the moment when it is there.
	err := os.Symlink(strconv.Itoa(shard), path)
	if errors.Is(err, fs.ErrExist) {
		var owner string
		owner, err = os.Readlink(path)
		return strings.TrimSpace(owner) == strconv.Itoa(shard), err
	}
	if err != nil {
		return false, fmt.Errorf("take a case: %w", err)
	}
	return true, nil
}

// Claimed returns the number of claimed cases.
func (f Folder) Claimed() int {
	entries, _ := os.ReadDir(f.in("claims")) // what cannot be counted is not shown
	return len(entries)
}
