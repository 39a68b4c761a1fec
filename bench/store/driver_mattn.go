//go:build sqlite_fts5

package main

import _ "github.com/mattn/go-sqlite3" // the driver "sqlite3": see buildWithMattn
