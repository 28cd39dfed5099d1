-- An address outside begins with https:// in these very letters. One that was taken with capitals leads where it did, and
-- would be refused at each call.
UPDATE push_subscription SET endpoint = 'https' || substr(endpoint, 6)
  WHERE lower(substr(endpoint, 1, 6)) = 'https:' AND substr(endpoint, 1, 6) <> 'https:';
UPDATE service SET source_url = 'https' || substr(source_url, 6)
  WHERE lower(substr(source_url, 1, 6)) = 'https:' AND substr(source_url, 1, 6) <> 'https:';
