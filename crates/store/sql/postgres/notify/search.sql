SELECT matches, next FROM malla_search($1::text::tsquery, $2, $3, $4)
