// Command rclone is rclone cut down to `rclone serve s3` over a local directory: the second S3 server of the tests. Its
// own main links every storage provider there is.
package main

import (
	_ "github.com/rclone/rclone/backend/local"
	"github.com/rclone/rclone/cmd"
	_ "github.com/rclone/rclone/cmd/serve"
	_ "github.com/rclone/rclone/cmd/serve/s3"
)

func main() { cmd.Main() }
