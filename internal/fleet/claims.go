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

// Claim takes a case of the plan, by its key, for a shard. It is used if shards are not cut beforehand: the
// next free shard takes the next case. It returns true for the shard that was first, also when it asks again.
func (f Folder) Claim(shard int, key string) (bool, error) {
	sum := sha256.Sum256([]byte(key))
	path := f.in("claims/%s", hex.EncodeToString(sum[:16]))
	// A link is created atomically: a claim names its shard from the moment it exists.
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
