-- The look of pages and mails: name, logo, colours, links (JSON; platform/model/brand.ts). `{}`: the pages' own.
ALTER TABLE tenant ADD COLUMN brand TEXT NOT NULL DEFAULT '{}';
ALTER TABLE client ADD COLUMN brand TEXT NOT NULL DEFAULT '{}';
