package store

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// ForgetUploads has S3 throw away the parts of uploads below a directory that were begun before a time, never ended,
// and are of an object that is ours to judge. They take room, and no list of objects shows them. Other stores have no
// such thing: GCS and Azure throw them away by themselves, and a volume has files for them.
func (b *Bucket) ForgetUploads(ctx context.Context, below string, before time.Time,
	isOurs func(key string) bool) (forgotten int, err error) {
	var client *s3.Client
	if b.s3Bucket == "" || !b.blob.As(&client) {
		return 0, nil
	}
	if err := b.check(below + "/any"); err != nil {
		return 0, err
	}
	prefix := below + "/"
	pages := s3.NewListMultipartUploadsPaginator(client,
		&s3.ListMultipartUploadsInput{Bucket: &b.s3Bucket, Prefix: &prefix})
	for pages.HasMorePages() {
		within, cancel := callContext(ctx)
		page, err := pages.NextPage(within)
		cancel()
		if err != nil {
			return forgotten, fmt.Errorf("list the uploads to %s in the store: %w", below, answered(within, err))
		}
		for _, upload := range page.Uploads {
			if !b.isOld(upload, before) || !isOurs(*upload.Key) {
				continue
			}
			if err := b.forget(ctx, client, *upload.Key, upload.UploadId); err != nil {
				return forgotten, err
			}
			forgotten++
		}
	}
	return forgotten, nil
}

func (b *Bucket) isOld(upload types.MultipartUpload, before time.Time) bool {
	return upload.Key != nil && upload.Initiated != nil && upload.Initiated.Before(before) &&
		b.check(*upload.Key) == nil
}

func (b *Bucket) forget(ctx context.Context, client *s3.Client, key string, upload *string) error {
	ctx, cancel := callContext(ctx)
	defer cancel()
	_, err := client.AbortMultipartUpload(ctx,
		&s3.AbortMultipartUploadInput{Bucket: &b.s3Bucket, Key: &key, UploadId: upload})
	if err != nil {
		return fmt.Errorf("forget an upload to %s in the store: %w", key, answered(ctx, err))
	}
	return nil
}
