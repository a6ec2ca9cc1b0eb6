//! Users, groups, tokens and the audit log.

use malla_protocol::{
    AuditQuery, AuditView, GroupView, NewGroup, NewToken, NewUser, Page, PageQuery, TokenMade, TokenView, UserChange,
    UserView,
};
use reqwest::Method;

use crate::error::Result;
use crate::tasks::Listed;
use crate::transport::Client;

impl Client {
    pub async fn users(&self, page: &PageQuery) -> Result<Page<UserView>> {
        self.get(&["api", "v1", "users"], page).await
    }

    pub async fn user(&self, name: &str) -> Result<UserView> {
        self.get(&["api", "v1", "users", name], &()).await
    }

    pub async fn create_user(&self, user: &NewUser) -> Result<UserView> {
        self.write(Method::POST, &["api", "v1", "users"], user).await
    }

    pub async fn change_user(&self, name: &str, change: &UserChange) -> Result<UserView> {
        self.write(Method::PATCH, &["api", "v1", "users", name], change).await
    }

    pub async fn delete_user(&self, name: &str) -> Result<()> {
        self.delete(&["api", "v1", "users", name]).await
    }

    pub async fn groups(&self, page: &PageQuery) -> Result<Page<GroupView>> {
        self.get(&["api", "v1", "groups"], page).await
    }

    pub async fn group(&self, name: &str) -> Result<GroupView> {
        self.get(&["api", "v1", "groups", name], &()).await
    }

    pub async fn create_group(&self, group: &NewGroup) -> Result<GroupView> {
        self.write(Method::POST, &["api", "v1", "groups"], group).await
    }

    pub async fn delete_group(&self, name: &str) -> Result<()> {
        self.delete(&["api", "v1", "groups", name]).await
    }

    pub async fn add_member(&self, group: &str, user: &str) -> Result<GroupView> {
        self.act_at(Method::PUT, &["api", "v1", "groups", group, "members", user], &()).await
    }

    pub async fn remove_member(&self, group: &str, user: &str) -> Result<GroupView> {
        self.act_at(Method::DELETE, &["api", "v1", "groups", group, "members", user], &()).await
    }

    pub async fn tokens(&self, page: &PageQuery) -> Result<Page<TokenView>> {
        self.get(&["api", "v1", "tokens"], page).await
    }

    /// The secret is in the answer and nowhere else.
    pub async fn create_token(&self, token: &NewToken) -> Result<TokenMade> {
        self.write(Method::POST, &["api", "v1", "tokens"], token).await
    }

    pub async fn delete_token(&self, name: &str) -> Result<()> {
        self.delete(&["api", "v1", "tokens", name]).await
    }

    /// Newest first.
    pub async fn audit(&self, query: &AuditQuery, page: &PageQuery) -> Result<Page<AuditView>> {
        self.get(&["api", "v1", "audit"], &Listed { query, page }).await
    }
}
