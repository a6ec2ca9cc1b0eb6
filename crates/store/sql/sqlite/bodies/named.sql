-- each by its index
SELECT n.value FROM json_each(?1) n
WHERE EXISTS (SELECT 1 FROM body WHERE object = n.value) OR EXISTS (SELECT 1 FROM wiki_block WHERE object = n.value)
   OR EXISTS (SELECT 1 FROM dead_object WHERE name = n.value)
