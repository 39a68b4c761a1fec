package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// results holds the results of finished runs, kept in a file so that an interrupted series can resume.
type results struct {
	file string // "": nothing is kept
	Seed uint64
	Days int
	Runs map[string]result // by simulated.String

	mu sync.Mutex // held for Runs and the file
}

// load reads the file. It refuses a file of other worlds.
func (r *results) load() error {
	seed, days := r.Seed, r.Days
	r.Runs = map[string]result{}
	text, err := os.ReadFile(r.file)
	if r.file == "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, r)
	}
	if err == nil && (r.Seed != seed || r.Days != days) {
		err = fmt.Errorf("it is of seed %d and %d days: delete it or name another file", r.Seed, r.Days)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", r.file, err)
	}
	return nil
}

// of returns the result of a run: the stored result, or else simulate's result.
func (r *results) of(s simulated, simulate func() (result, error)) (result, error) {
	r.mu.Lock()
	got, ok := r.Runs[s.String()]
	r.mu.Unlock()
	if ok {
		return got, nil
	}
	got, err := simulate()
	if err != nil {
		return got, fmt.Errorf("%s: %w", s, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Runs[s.String()] = got
	if r.file == "" {
		return got, nil
	}
	text, err := json.Marshal(r)
	if err == nil {
		err = os.WriteFile(r.file, text, 0o600)
	}
	if err != nil {
		return got, fmt.Errorf("keep the result: %w", err)
	}
	return got, nil
}
