//go:build !linux && !darwin

package doctor

import "errors"

// volumeOf is not supported here.
func volumeOf(string) (volume, error) { return volume{}, errors.ErrUnsupported }
