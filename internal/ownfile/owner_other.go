//go:build !unix

package ownfile

import "io/fs"

const noFollow, noWait = 0, 0

func owner(fs.FileInfo) int { return 0 }

func ours(fs.FileInfo) bool { return true }

func writableByAll(fs.FileInfo) bool { return false }
