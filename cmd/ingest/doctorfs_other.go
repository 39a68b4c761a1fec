//go:build !linux && !darwin

package main

import "errors"

// volumeOf is not known here.
func volumeOf(string) (volume, error) { return volume{}, errors.ErrUnsupported }
