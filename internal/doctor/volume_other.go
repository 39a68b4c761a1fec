//go:build !linux && !darwin

package doctor

import "errors"

func volumeOf(string) (volume, error) { return volume{}, errors.ErrUnsupported }
