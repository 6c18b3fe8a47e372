package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// creator is a client that makes one object, also where the server does not know If-None-Match: Alibaba's OSS, for one,
// answers 501 (tobi/walgit#67). Then it looks once more that nothing is there, and writes without the header. Parts
// that were uploaded stay uploaded: only the request that ends them is repeated.
type creator struct {
	*s3.Client
	bucket *Bucket
	key    string
}

// PutObject makes an object that fits into one request.
func (c creator) PutObject(ctx context.Context, in *s3.PutObjectInput,
	options ...func(*s3.Options)) (*s3.PutObjectOutput, error) {
	return create(ctx, c, &in.IfNoneMatch, func() (*s3.PutObjectOutput, error) {
		if body, ok := in.Body.(io.Seeker); ok { // an attempt before has read it
			if _, err := body.Seek(0, io.SeekStart); err != nil {
				return nil, fmt.Errorf("read again what is uploaded: %w", err)
			}
		}
		return c.Client.PutObject(ctx, in, options...)
	})
}

// CompleteMultipartUpload makes an object of the parts that were uploaded.
func (c creator) CompleteMultipartUpload(ctx context.Context, in *s3.CompleteMultipartUploadInput,
	options ...func(*s3.Options)) (*s3.CompleteMultipartUploadOutput, error) {
	return create(ctx, c, &in.IfNoneMatch, func() (*s3.CompleteMultipartUploadOutput, error) {
		return c.Client.CompleteMultipartUpload(ctx, in, options...)
	})
}

func create[Out any](ctx context.Context, c creator, condition **string, write func() (Out, error)) (Out, error) {
	out, err := write()
	if *condition == nil || !isNotImplemented(err) {
		return out, err
	}
	if err := c.bucket.isFree(ctx, c.key); err != nil {
		return out, err
	}
	*condition = nil
	if out, err = write(); err == nil {
		c.bucket.unconditional.Store(true)
	}
	return out, err
}

func isNotImplemented(err error) bool {
	var answer *smithyhttp.ResponseError
	return errors.As(err, &answer) && answer.HTTPStatusCode() == http.StatusNotImplemented
}
